"""Names of ATen ops that hold an underscore, to cut the joined names of fused kernels apart.

Taken from the tables of lowerings and decompositions of torch 2.15 (torch/_inductor/lowering.py,
torch/_decomp); a name of one word needs no entry.
"""

from __future__ import annotations

_NAMES = """
    __and__ __or__ _adaptive_avg_pool2d _adaptive_avg_pool2d_backward _adaptive_avg_pool3d
    _adaptive_avg_pool3d_backward _addmm_activation _amp_update_scale
    _batch_norm_impl_index_backward _batch_norm_no_update _batch_norm_with_update
    _batch_norm_with_update_functional _cast_Float _chunk_cat _convolution
    _efficient_attention_backward _efficient_attention_forward _efficientzerotensor
    _embedding_bag _embedding_bag_backward _embedding_bag_forward_only
    _embedding_bag_per_sample_weights_backward _euclidean_dist _fft_c2c _fft_c2r _fft_r2c
    _flash_attention_backward _flash_attention_forward _foreach_abs _foreach_add
    _foreach_addcdiv _foreach_addcmul _foreach_clamp_max _foreach_clamp_min _foreach_clone
    _foreach_copy _foreach_div _foreach_lerp _foreach_maximum _foreach_minimum _foreach_mul
    _foreach_neg _foreach_pow _foreach_reciprocal _foreach_rsqrt _foreach_sign _foreach_sqrt
    _foreach_sub _fused_dropout _fused_moving_avg_obs_fq_helper
    _fused_moving_avg_obs_fq_helper_functional _fused_rms_norm _fused_rms_norm_backward
    _grouped_mm _int_mm _local_scalar_dense _log_softmax _log_softmax_backward_data
    _low_memory_max_pool_offsets_to_indices _low_memory_max_pool_with_offsets
    _native_batch_norm_legit _native_batch_norm_legit_functional
    _native_batch_norm_legit_no_training _neg_view _prelu_kernel _prelu_kernel_backward
    _reshape_alias _safe_softmax _scaled_addmm _scaled_dot_product_attention_math
    _scaled_dot_product_attention_math_for_mps _scaled_dot_product_cudnn_attention
    _scaled_dot_product_cudnn_attention_backward _scaled_dot_product_efficient_attention
    _scaled_dot_product_efficient_attention_backward _scaled_dot_product_flash_attention
    _scaled_dot_product_flash_attention_backward _scaled_dot_product_flash_attention_for_cpu
    _scaled_dot_product_flash_attention_for_cpu_backward
    _scaled_dot_product_fused_attention_overrideable
    _scaled_dot_product_fused_attention_overrideable_backward _scaled_grouped_mm _scaled_mm
    _scaled_mm_v2 _softmax _softmax_backward_data _to_copy _to_dense _to_sparse _unsafe_index
    _unsafe_index_put _unsafe_masked_index _unsafe_masked_index_put_accumulate _unsafe_view
    _upsample_bicubic2d_aa _upsample_bilinear2d_aa _upsample_lanczos2d_aa
    _upsample_nearest_exact1d _upsample_nearest_exact2d _upsample_nearest_exact3d
    _weight_int4pack_mm_for_cpu _weight_int8pack_mm _weight_norm _weight_norm_interface
    _weight_norm_interface_backward adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d
    adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool2d_backward adaptive_max_pool3d
    adaptive_max_pool3d_backward affine_grid_generator affine_grid_generator_backward alias_copy
    alpha_dropout as_strided as_strided_copy as_strided_scatter avg_pool1d avg_pool2d
    avg_pool2d_backward avg_pool3d avg_pool3d_backward batch_norm_backward binary_cross_entropy
    binary_cross_entropy_backward binary_cross_entropy_with_logits bitwise_and
    bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift bitwise_xor block_diag
    broadcast_tensors channel_shuffle clamp_max clamp_min column_stack conj_physical
    constant_pad_nd conv_transpose1d conv_transpose2d conv_transpose3d convert_element_type
    convolution_backward cosine_embedding_loss cosine_similarity count_nonzero
    cross_entropy_loss cudnn_batch_norm cudnn_batch_norm_backward cumprod_backward
    cumulative_trapezoid diag_embed diagonal_backward diagonal_copy diagonal_scatter
    elu_backward embedding_backward embedding_bag embedding_dense_backward empty_like
    empty_permuted empty_strided expand_as expand_copy fake_quantize_per_channel_affine
    fake_quantize_per_channel_affine_cachemask_backward fake_quantize_per_tensor_affine
    fake_quantize_per_tensor_affine_cachemask_backward flex_attention flex_attention_backward
    float_power floor_divide fractional_max_pool2d fractional_max_pool2d_backward
    fractional_max_pool3d fractional_max_pool3d_backward full_like gather_backward gelu_backward
    glu_backward greater_equal grid_sampler grid_sampler_2d grid_sampler_2d_backward group_norm
    hann_window hardsigmoid_backward hardswish_backward hardtanh_backward huber_loss
    huber_loss_backward index_add index_copy index_fill index_put index_reduce index_select
    index_select_backward inductor_cvt_e8m0_rceil inductor_lookup_seed
    inductor_rand_eager_offset inductor_rand_eager_offsets inductor_randint inductor_random
    inductor_seed inductor_seeds instance_norm l1_loss layer_norm leaky_relu leaky_relu_backward
    less_equal lift_fresh lift_fresh_copy linalg_vector_norm log_normal log_sigmoid
    log_sigmoid_backward log_sigmoid_forward log_softmax logical_and logical_not logical_or
    logical_xor logit_backward masked_fill masked_scatter masked_scatter_backward
    masked_select_backward matrix_exp matrix_exp_backward matrix_power max_pool1d
    max_pool1d_with_indices max_pool2d max_pool2d_with_indices max_pool2d_with_indices_backward
    max_pool3d max_pool3d_with_indices max_pool3d_with_indices_backward max_unpool2d
    max_unpool3d mish_backward mse_loss mse_loss_backward nan_to_num narrow_copy
    native_batch_norm native_batch_norm_backward native_channel_shuffle native_dropout
    native_dropout_backward native_group_norm native_group_norm_backward native_layer_norm
    native_layer_norm_backward new_empty new_empty_strided new_full new_ones new_zeros nll_loss
    nll_loss2d nll_loss2d_backward nll_loss2d_forward nll_loss_backward nll_loss_forward
    nll_loss_nd nonzero_numpy nonzero_static norm_except_dim normal_functional not_equal one_hot
    ones_like pad_sequence permute_copy pixel_shuffle pixel_unshuffle prepare_softmax_online
    rand_like randint_like randn_like reflection_pad1d reflection_pad1d_backward
    reflection_pad2d reflection_pad2d_backward reflection_pad3d reflection_pad3d_backward
    repeat_interleave replication_pad1d replication_pad1d_backward replication_pad2d
    replication_pad2d_backward replication_pad3d resize_as rms_norm row_stack rrelu_with_noise
    rrelu_with_noise_backward rrelu_with_noise_functional scalar_tensor
    scaled_dot_product_attention scatter_add scatter_reduce select_backward select_scatter
    sigmoid_backward silu_backward slice_backward slice_scatter slow_conv3d smooth_l1_loss
    smooth_l1_loss_backward soft_margin_loss soft_margin_loss_backward softplus_backward
    special_log1p split_with_sizes split_with_sizes_copy squeeze_copy std_mean sum_to_size
    t_copy take_along_dim tanh_backward thnn_conv2d threshold_backward to_dense
    to_dense_backward trace_backward transpose_copy triangular_solve tril_indices
    triton_kernel_wrapper_functional triton_kernel_wrapper_mutation triu_indices true_divide
    type_as unbind_copy unfold_backward unfold_copy unique_consecutive unique_dim
    unique_dim_consecutive unsafe_split unsafe_split_with_sizes unsqueeze_copy
    upsample_bicubic2d upsample_bicubic2d_backward upsample_bilinear2d upsample_linear1d
    upsample_linear1d_backward upsample_nearest1d upsample_nearest2d upsample_nearest2d_backward
    upsample_nearest3d upsample_trilinear3d upsample_trilinear3d_backward var_mean
    view_as_complex view_copy xor_sum zeros_like
"""
OPS = frozenset(_NAMES.split())
